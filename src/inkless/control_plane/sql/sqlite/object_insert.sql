INSERT INTO objects (object_id, key, size, coordinates, committed_ms, retired_ms, results) VALUES (?, ?, ?, ?, ?, ?, ?)
