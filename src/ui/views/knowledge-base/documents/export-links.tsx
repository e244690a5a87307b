/** What is listed, out of here: as a statement, whose rows the SQL view writes to a file, or the whole with its vectors. */
import { addressOfApi } from '../../../api/documents.ts'
import { type ColumnTypes, type Filters, literalWhereOf } from '../../../api/filters.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { quoted } from '../../../api/sql.ts'
import { Icon } from '../../../components/icon.tsx'
import { addressOf } from '../../../shell/addresses.ts'
import type { ListAddress } from './list-address.ts'

interface ExportLinksProps {
  readonly of: KnowledgeBaseName
  readonly shown: ListAddress
  readonly types: ColumnTypes | undefined
}

/** An address may not be longer everywhere. */
const ADDRESS_CHARS_MAX = 4000

export function ExportLinks({ of, shown, types = {} }: ExportLinksProps) {
  const statement = statementOf(of, shown.filters, types)
  return (
    <>
      {statement !== undefined && statement.length < ADDRESS_CHARS_MAX && (
        <a href={statement} class="button small">
          <Icon name="sql" />
          In SQL
        </a>
      )}
      <a href={`${addressOfApi(of)}/export`} class="button small" download>
        <Icon name="download" />
        Export all with vectors
      </a>
    </>
  )
}

/** Undefined: the address holds a condition that SQL has no word for here. */
function statementOf(
  { project, name }: KnowledgeBaseName,
  filters: Filters,
  types: ColumnTypes,
): string | undefined {
  try {
    const where = literalWhereOf(filters, types)
    const from = `${quoted(project)}.${quoted(name)}`
    return addressOf.statement(`SELECT * FROM ${from}${where} LIMIT 1000`)
  } catch {
    return undefined
  }
}
