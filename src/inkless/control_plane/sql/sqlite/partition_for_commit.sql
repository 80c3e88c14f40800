SELECT p.pid, p.high_watermark, p.append_time_ms, p.max_timestamp, p.bytes, p.log_start
FROM partitions p JOIN topics t ON t.topic_id = p.topic_id
WHERE p.topic_id = ? AND p.partition = ? AND t.deleted_ms IS NULL
