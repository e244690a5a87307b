import type {
  ColumnCondition,
  ConditionColumn,
  ConditionValue,
} from '../../core/domain/column-condition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal } from '../../core/domain/names.ts'
import type { TreeNode } from '../ast/select-ast.ts'
import { operandOf, sourceCondition } from '../pushdown/source-conditions.ts'
import type { CompareOperator, Operand, SourceCondition } from '../pushdown/source-read.ts'
import { metadataName, ownColumnName } from './search-options.ts'

/** The most nodes in a condition, because each costs one pass over all chunks in memory. */
const NODES_MAX = 100

const KINDS: Readonly<Record<string, ConditionColumn['kind']>> = {
  ...{ TINYINT: 'number', SMALLINT: 'number', INTEGER: 'number', BIGINT: 'number' },
  ...{ UTINYINT: 'number', USMALLINT: 'number', UINTEGER: 'number', DOUBLE: 'number' },
  ...{ BOOLEAN: 'truth', VARCHAR: 'word', DATE: 'day', TIMESTAMP: 'time' },
}

/** null if it does more than compare metadata. @param condition over chunk columns alone */
export function memoryCondition(
  condition: TreeNode,
  alias: string,
  { storedMetadata }: KnowledgeBase,
): ColumnCondition | null {
  const columns = new Map(
    storedMetadata.map(({ name, column, type }) => {
      const key = metadataName({ name, column, type }).toLowerCase()
      return [key, { name: column, type, nativeType: '', isNullable: true }] as const
    }),
  )
  const read = sourceCondition(condition, (node) => {
    return columns.get(ownColumnName(node, { alias, isOnly: true }) ?? '')
  })
  return nodeCount(read) > NODES_MAX ? null : inMemory(read)
}

function nodeCount(condition: SourceCondition): number {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.conditions.reduce((sum, one) => sum + nodeCount(one), 1)
    case 'not':
    case 'certain':
      return 1 + nodeCount(condition.condition)
    case 'in':
      return 1 + condition.values.length
    default:
      return 1
  }
}

/** Null for conditions that only the database can check. */
function inMemory(condition: SourceCondition): ColumnCondition | null {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return joined(condition.kind, condition.conditions.map(inMemory))
    case 'not':
      return negated(inMemory(condition.condition))
    case 'certain': {
      const part = inMemory(condition.condition)
      return part && { kind: 'certain', part }
    }
    case 'compare':
      return compared(condition.column, condition.operator, condition.value)
    case 'in': {
      const { column, values, isNegated } = condition
      const any = joined(
        'or',
        values.map((value) => compared(column, '=', value)),
      )
      return isNegated ? negated(any) : any
    }
    case 'in_list': {
      const column = columnOf(condition.column)
      const value = column && comparedValue(condition.list, column.kind)
      const isList = column !== null && value !== null && 'parameter' in value
      return isList ? { kind: 'in', column, value } : null
    }
    case 'null': {
      const column = columnOf(condition.column)
      const isNull = column && ({ kind: 'null', column } as const)
      return condition.isNegated ? negated(isNull) : isNull
    }
    case 'truth': {
      const column = columnOf(condition.column)
      const isTruth = column?.kind === 'truth'
      return isTruth ? { kind: '=', column, value: { written: 'true' } } : null
    }
    default:
      return null
  }
}

function columnOf({ name, type }: { readonly name: string; readonly type: string }) {
  const kind = KINDS[type]
  return kind === undefined ? null : { name, kind }
}

function compared(
  written: Parameters<typeof columnOf>[0],
  operator: CompareOperator,
  operand: Operand,
): ColumnCondition | null {
  const column = columnOf(written)
  const value = column && comparedValue(operand, column.kind)
  if (column === null || value === null) return null
  if (operator === '=') return { kind: '=', column, value }
  if (operator === '<>') return negated({ kind: '=', column, value })
  if (column.kind === 'word' || column.kind === 'truth') return null
  const isTurned = operator === '>' || operator === '>='
  const kind = operator === '<' || operator === '>=' ? '<' : '<='
  return isTurned ? negated({ kind, column, value }) : { kind, column, value }
}

/** Null if one of them is. */
function joined(
  kind: 'and' | 'or',
  parts: readonly (ColumnCondition | null)[],
): ColumnCondition | null {
  const known = parts.filter((part) => part !== null)
  return known.length === parts.length && known.length > 0 ? { kind, parts: known } : null
}

function negated(part: ColumnCondition | null): ColumnCondition | null {
  return part && { kind: 'not', part }
}

/** Returns a text to compare with; null if it is not a plain value. */
export function wordOf(node: TreeNode): ConditionValue | null {
  const operand = operandOf(node)
  return operand === undefined ? null : comparedValue(operand, 'word')
}

const CASTS: Readonly<Record<string, ConditionColumn['kind']>> = {
  ...{ VARCHAR: 'word', DATE: 'day', TIMESTAMP: 'time' },
}

function comparedValue(operand: Operand, kind: ConditionColumn['kind']): ConditionValue | null {
  const isMoment = kind === 'day' || kind === 'time'
  switch (operand.kind) {
    case 'parameter': {
      // DuckDB would compare the date as text with an uncast parameter.
      const fits = operand.cast === undefined ? !isMoment : CASTS[operand.cast] === kind
      return fits ? { parameter: operand.name } : null
    }
    case 'text':
      return kind === 'word' || isMoment ? { written: literal(operand.text) } : null
    case 'date':
      return kind === 'day' ? { written: literal(operand.text) } : null
    case 'timestamp':
      return kind === 'time' ? { written: literal(operand.text) } : null
    case 'number': {
      // Numbers with more digits than JavaScript represents exactly are left to the database.
      const isExact = operand.digits.replaceAll(/\D/g, '').length <= 15
      return kind === 'number' && isExact ? { written: operand.digits } : null
    }
    case 'truth':
      return kind === 'truth' ? { written: String(operand.value) } : null
    default:
      return null
  }
}
