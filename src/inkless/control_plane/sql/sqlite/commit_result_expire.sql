DELETE FROM commit_results
WHERE result_id IN (SELECT result_id FROM commit_results ORDER BY result_id LIMIT :limit) AND committed_ms < :before_ms
