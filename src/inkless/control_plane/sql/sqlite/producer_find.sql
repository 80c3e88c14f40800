SELECT epoch, known, updated_ms FROM producers WHERE pid = ? AND producer_id = ?
