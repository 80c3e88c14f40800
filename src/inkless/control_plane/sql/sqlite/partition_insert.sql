INSERT INTO partitions (topic_id, partition) VALUES (?, ?)
