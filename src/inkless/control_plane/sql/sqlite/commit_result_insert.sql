INSERT INTO commit_results (key, committed_ms, results) VALUES (?, ?, ?)
