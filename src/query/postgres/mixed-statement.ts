/** Statements that read the catalog and data at once: where they name a relation of the catalog, its rows are put in. */
import { literal } from '../../core/domain/identifier.ts'
import { tokenize } from '../../sql/lexer/tokens.ts'
import { type CatalogPlace, catalogPlaces } from './catalog-statement.ts'
import type { ScratchRows } from './pg-catalog.ts'

const NO_ALIAS = /^(where|on|join|left|right|inner|cross|full|group|order|union|limit|having)$/i

/** @param read a statement over the catalog */
export async function withCatalogRows(
  sql: string,
  read: (sql: string) => Promise<ScratchRows>,
): Promise<string> {
  let text = ''
  let at = 0
  for (const place of catalogPlaces(sql)) {
    text += sql.slice(at, place.start) + (await putIn(place, read))
    at = place.end
    if (place.kind === 'relation' && !hasAlias(sql.slice(at))) text += ` AS ${place.name}`
  }
  return text + sql.slice(at)
}

async function putIn(
  { kind, name }: CatalogPlace,
  read: (sql: string) => Promise<ScratchRows>,
): Promise<string> {
  if (kind === 'cast') {
    const { rows } = await read(`SELECT ${name}`)
    return String(rows[0]?.[0] ?? 'NULL')
  }
  const { rows: described } = await read(`DESCRIBE pgc.${name}`)
  const columns = described.map(([column, type]) => {
    return { column: String(column), type: String(type).replace('BLOB', 'VARCHAR') }
  })
  const list = `SELECT coalesce(to_json(list(r))::VARCHAR, '[]') FROM pgc.${name} AS r`
  const { rows } = await read(list)
  const shape = Object.fromEntries(columns.map(({ column, type }) => [column, type]))
  const parts = columns.map(({ column }) => {
    return `struct_extract(catalog_row, ${literal(column)}) AS ${column}`
  })
  const json = literal(String(rows[0]?.[0]))
  const source = `SELECT unnest(from_json(${json}, ${literal(JSON.stringify([shape]))})) AS catalog_row`
  return `(SELECT ${parts.join(', ')} FROM (${source}))`
}

function hasAlias(rest: string): boolean {
  const [first] = tokenize(rest)
  const isName = first?.kind === 'word' || first?.kind === 'name'
  return isName && !NO_ALIAS.test(first.text)
}
