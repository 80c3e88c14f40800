SELECT p.epoch, p.known
FROM topics t
JOIN topics old ON old.name = t.name AND old.deleted_ms IS NOT NULL
JOIN partitions held ON held.topic_id = old.topic_id AND held.partition = :partition
JOIN producers p ON p.pid = held.pid AND p.producer_id = :producer_id
WHERE t.topic_id = :topic_id
ORDER BY old.deleted_ms DESC
LIMIT 1
