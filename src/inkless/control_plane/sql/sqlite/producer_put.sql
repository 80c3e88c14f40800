INSERT INTO producers (pid, producer_id, epoch, known, updated_ms) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (pid, producer_id) DO UPDATE
SET epoch = excluded.epoch, known = excluded.known, updated_ms = excluded.updated_ms
