-- What an evaluation says about all of its questions: SELECTs over their rows, `answers`.

-- judgments
SELECT
  count(ndcg_at_k) AS questions,
  count(*) - count(ndcg_at_k) AS skipped_questions,
  $unknown::BIGINT AS unknown_documents,
  $k::BIGINT AS k,
  coalesce(avg(a.ndcg_at_k), 0) AS ndcg_at_k,
  coalesce(avg(a.recall_at_k), 0) AS recall_at_k,
  coalesce(avg(a.precision_at_k), 0) AS precision_at_k,
  coalesce(avg(a.reciprocal_rank), 0) AS mrr,
  coalesce(avg(a.average_precision), 0) AS map_at_k,
  avg(a.query_time) AS avg_query_time
FROM answers AS a;

-- doc_id
SELECT
  total, total_found, retrieved_in_top_10,
  -- For each position, counted from 0: the share of questions whose document is there or earlier.
  to_json(map_from_entries(list_transform(range($k::BIGINT), lambda place:
    struct_pack(k := place::VARCHAR, v := len(list_filter(positions, lambda one: one <= place)) / total)
  )))::VARCHAR AS cumulative_recall,
  avg_query_time
FROM (
  SELECT
    count(*) AS total,
    count(position) AS total_found,
    count(*) FILTER (position < 10) AS retrieved_in_top_10,
    list(position) AS positions,
    avg(query_time) AS avg_query_time
  FROM answers);

-- llm_relevancy
SELECT
  avg(relevancy) AS avg_relevancy,
  -- The mean at each position, over the questions that have a passage there.
  coalesce((
    SELECT to_json(list(mean ORDER BY place))::VARCHAR
    FROM (SELECT place, avg(score) AS mean
      FROM (SELECT unnest(scores) AS score, generate_subscripts(scores, 1) AS place
        FROM (SELECT from_json(relevance_scores, '["DOUBLE"]') AS scores FROM answers))
      GROUP BY place)
  ), '[]') AS avg_relevance_score_by_k,
  avg(first_relevant_position) AS avg_first_relevant_position,
  avg(reciprocal_rank) AS mean_mrr,
  avg((first_relevant_position IS NOT NULL)::INTEGER) AS hit_at_k,
  avg(precision_at_k) AS bin_precision_at_k,
  avg(entropy) AS avg_entropy,
  avg(ndcg) AS avg_ndcg,
  avg(query_time) AS avg_query_time
FROM answers;

-- agent
SELECT
  run, agent, setting, questions, questions - failed AS answered, failed, judged, judge_failures,
  correct, accuracy,
  -- E. B. Wilson, 1927: valid for few questions and shares near 0 and 1.
  CASE WHEN judged > 0 THEN greatest(0, middle - spread) END AS accuracy_low,
  CASE WHEN judged > 0 THEN least(1, middle + spread) END AS accuracy_high,
  exact, contains, cited, cited_first, not_found, wrongly_not_found, score,
  seconds_mean, seconds_p50, seconds_p95, input_tokens, output_tokens, cost,
  wins, losses, ties,
  -- McNemar's exact test, two-sided: a split of wins and losses at least this uneven.
  CASE WHEN wins + losses + ties > 0 THEN
    least(1, round(2 * list_sum(list_transform(range(0, least(wins, losses) + 1), lambda n: exp(
      lgamma(wins + losses + 1) - lgamma(n + 1) - lgamma(wins + losses - n + 1) - (wins + losses) * ln(2)
    ))), 12))
  END AS p_value
FROM (
  SELECT *,
    -- 1.96 is the 97.5th percentile of the normal distribution.
    (accuracy + 1.959963984540054::DOUBLE ** 2 / (2 * judged)) / (1 + 1.959963984540054::DOUBLE ** 2 / judged) AS middle,
    1.959963984540054::DOUBLE / (1 + 1.959963984540054::DOUBLE ** 2 / judged)
      * sqrt(accuracy * (1 - accuracy) / judged + 1.959963984540054::DOUBLE ** 2 / (4 * judged ** 2)) AS spread
  FROM (
    SELECT
      any_value(a.run) AS run, any_value(a.agent) AS agent, a.setting,
      count(*) AS questions,
      count(a.error) AS failed,
      count(a.correct) AS judged,
      count(a.judge_error) AS judge_failures,
      count(*) FILTER (a.correct) AS correct,
      avg(a.correct::INTEGER) AS accuracy,
      avg(a.exact::INTEGER) AS exact,
      avg(a.contains::INTEGER) AS contains,
      avg(a.cited::INTEGER) AS cited,
      avg((a.cited_rank IS NOT DISTINCT FROM 1)::INTEGER) FILTER (a.cited IS NOT NULL) AS cited_first,
      avg(a.not_found::INTEGER) AS not_found,
      avg(a.said_not_found::INTEGER)
        FILTER (a.expected IS NOT NULL OR a.document_id IS NOT NULL) AS wrongly_not_found,
      avg(a.score) AS score,
      avg(a.seconds) AS seconds_mean,
      quantile_disc(a.seconds, 0.5) AS seconds_p50,
      quantile_disc(a.seconds, 0.95) AS seconds_p95,
      sum(a.input_tokens)::BIGINT AS input_tokens,
      sum(a.output_tokens)::BIGINT AS output_tokens,
      sum(a.cost) AS cost,
      -- Only questions that both settings answered and that were judged.
      CASE WHEN a.setting = 'compare' THEN count(*) FILTER (NOT b.correct AND a.correct) END AS wins,
      CASE WHEN a.setting = 'compare' THEN count(*) FILTER (b.correct AND NOT a.correct) END AS losses,
      CASE WHEN a.setting = 'compare' THEN count(*) FILTER (b.correct = a.correct) END AS ties
    FROM answers AS a
    LEFT JOIN answers AS b ON a.setting = 'compare' AND b.setting = 'base' AND b.position = a.position
    GROUP BY a.setting))
ORDER BY setting;
