INSERT OR IGNORE INTO condemned (key, condemned_ms) VALUES (?, ?)
