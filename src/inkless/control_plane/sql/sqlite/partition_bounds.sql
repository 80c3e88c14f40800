SELECT p.pid, p.high_watermark, p.log_start, p.swaps, p.max_timestamp
FROM partitions p JOIN topics t ON t.topic_id = p.topic_id
WHERE p.topic_id = ? AND p.partition = ? AND t.deleted_ms IS NULL
