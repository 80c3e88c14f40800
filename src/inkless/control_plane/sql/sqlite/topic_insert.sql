INSERT INTO topics (topic_id, name, partitions, configs, created_ms) VALUES (?, ?, ?, ?, ?)
