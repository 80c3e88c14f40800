INSERT INTO objects (key, size, coordinates, committed_ms, retired_ms) VALUES (?, ?, ?, ?, ?)
