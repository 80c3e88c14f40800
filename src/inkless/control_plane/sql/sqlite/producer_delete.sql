DELETE FROM producers WHERE pid = ? AND producer_id = ? AND updated_ms < ?
