SELECT 1 FROM condemned WHERE key = ?
