INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)
