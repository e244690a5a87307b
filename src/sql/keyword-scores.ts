import { chunkTables } from '../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { keywordsParameter, phrasesParameter } from './ranking.ts'

/** How much a term's further occurrences in a chunk add. */
const K1 = 1.2

/** How much a chunk's length counts. */
const B = 0.75

/** Threads add in any order, and what is equally good must be equal. */
const SCORE_DIGITS = 9

/**
 * A SELECT of `chunk_key, score`: BM25 of each chunk that holds a term of the text, and all its phrases.
 *
 * With N chunks, df of them with the term, tf the term's occurrences in the chunk and l / L its length over the mean one,
 * both in terms: the sum over the terms of ln(1 + (N - df + 0.5) / (df + 0.5)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · l / L)).
 * S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the idf is Lucene's, which is
 * never negative.
 */
export function keywordScoresSql(kb: KnowledgeBase, text: number): string {
  const { chunks, postings, recentPostings, termCounts } = chunkTables(kb)
  const phrases = `$${phrasesParameter(text)}::VARCHAR[]`
  const saturation = `frequency + ${K1}::DOUBLE * (${1 - B}::DOUBLE + ${B}::DOUBLE * term_count / mean)`
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
      round(sum(idf * frequency * ${K1 + 1}::DOUBLE / (${saturation})), ${SCORE_DIGITS}) AS score
    FROM hits JOIN weights USING (term)
    WHERE chunk_key NOT IN (SELECT chunk_key FROM quoted
      WHERE NOT list_bool_and(list_transform(${phrases}, phrase -> contains(content, lower(phrase)))))
    GROUP BY chunk_key`
}
