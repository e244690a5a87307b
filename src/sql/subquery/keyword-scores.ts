import { chunkTables } from '../../domain/chunk-tables.ts'
import { BM25 } from '../../domain/keyword-search.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { keywordsParameter, phrasesParameter } from '../search/ranking.ts'

/**
 * A SELECT of `chunk_key, score`: BM25 (domain/keyword-search.ts) of each chunk that holds a term of the text, and all its phrases.
 */
export function keywordScoresSql(kb: KnowledgeBase, text: number): string {
  const { k1, b, scoreDigits } = BM25
  const { chunks, postings, recentPostings, termCounts } = chunkTables(kb)
  const phrases = `$${phrasesParameter(text)}::VARCHAR[]`
  const saturation = `frequency + ${k1}::DOUBLE * (${1 - b}::DOUBLE + ${b}::DOUBLE * term_count / mean)`
  // With no phrase but the empty one `quoted` is empty, and no text is read.
  return `WITH hits AS MATERIALIZED (
      SELECT * FROM (SELECT * FROM ${postings} UNION ALL SELECT * FROM ${recentPostings})
      WHERE term IN (SELECT unnest($${keywordsParameter(text)}::BIGINT[]))),
    corpus AS (SELECT count(*) AS chunks, sum(term_count) / count(*) AS mean FROM ${termCounts}),
    weights AS (SELECT term, mean,
        ln(1 + (chunks - count(*) + 0.5::DOUBLE) / (count(*) + 0.5::DOUBLE)) AS idf
      FROM hits, corpus GROUP BY term, chunks, mean),
    quoted AS MATERIALIZED (SELECT chunk_key, lower(chunk_content) AS content FROM ${chunks}
      WHERE chunk_key IN (SELECT chunk_key FROM hits WHERE len(${phrases}) > 1))
    SELECT chunk_key,
      round(sum(idf * frequency * ${k1 + 1}::DOUBLE / (${saturation})), ${scoreDigits}) AS score
    FROM hits JOIN weights USING (term)
    WHERE chunk_key NOT IN (SELECT chunk_key FROM quoted
      WHERE NOT list_bool_and(list_transform(${phrases}, phrase -> contains(content, lower(phrase)))))
    GROUP BY chunk_key`
}
