SELECT pid, producer_id, updated_ms FROM producers
WHERE (pid, producer_id) > (:pid, :producer_id)
ORDER BY pid, producer_id
LIMIT :limit
