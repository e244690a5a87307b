/** Phrases of Eider's statements and options of searches, which CodeMirror's SQL does not have. */
import { codeOf } from './sql-code.ts'

export const STATEMENTS: readonly string[] = `
SELECT|WITH|EXPLAIN|EXPLAIN ANALYZE|DESCRIBE|DESCRIBE AGENT|DESCRIBE KNOWLEDGE_BASE|INSERT INTO|UPDATE|DELETE FROM
SHOW KNOWLEDGE_BASES|SHOW AGENTS|SHOW TABLES|SHOW VIEWS|SHOW FILES|SHOW JOBS|SHOW INDEXES|SHOW MODELS|SHOW PROJECTS
SHOW DATABASES|SHOW SOURCES|SHOW PROCESSLIST|SHOW CREATE TABLE
CREATE KNOWLEDGE_BASE|CREATE AGENT|CREATE VIEW|CREATE TABLE|CREATE INDEX ON KNOWLEDGE_BASE|CREATE JOB|CREATE PROJECT
CREATE DATABASE|ALTER KNOWLEDGE_BASE|ALTER AGENT|ALTER VIEW|DROP KNOWLEDGE_BASE|DROP AGENT|DROP VIEW
DROP TABLE|DROP INDEX ON KNOWLEDGE_BASE|DROP JOB|EVALUATE KNOWLEDGE_BASE|EVALUATE AGENT|REFRESH KNOWLEDGE_BASE
VACUUM|SET|USE`
  .trim()
  .split(/[|\n]/)

interface SqlOption {
  readonly name: string
  /** The option with an example value to replace. */
  readonly insert: string
  readonly info: string
}

/** Each line has one option: the text to insert, then its description. */
function options(lines: string): readonly SqlOption[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [insert = '', info = ''] = line.trim().split(' -- ')
      return { name: insert.split(' ')[0] ?? '', insert, info }
    })
}

const SEARCH = options(`
  content = '' -- The text to search for
  relevance -- How well a chunk fits: larger is better
  distance -- The distance of a chunk's vector, 0 to 2
  hybrid_search = true -- Semantic and keyword search together
  hybrid_search_alpha = 0.5 -- The semantic share: 0 is keyword search, 1 is semantic search
  hybrid_search_fusion = 'convex' -- How both rankings are combined: 'convex', 'scaled' or 'rrf'
  hybrid_search_feedback = true -- Searches again near the first results
  reranking = false -- Skips the reranking model
  allow_partial = true -- Leaves out PostgreSQL nodes that cannot be reached`)

const QUESTION = options(`question = '' -- The question for the agent`)

/** In WHERE. @param kinds the kinds of the tables in the statement, by their catalog names */
export function optionsAt(lead: string, kinds: ReadonlySet<string>): readonly SqlOption[] {
  const code = codeOf(lead)
  const isValue = /=\s*[^,]*$/.test(code) && !/\b(and|or|where)\s+\S*$/i.test(code)
  if (isValue || !/\bwhere\b/i.test(code)) return []
  return [...(kinds.has('KNOWLEDGE BASE') ? SEARCH : []), ...(kinds.has('AGENT') ? QUESTION : [])]
}
