import type {
  ColumnCondition,
  ConditionColumn,
  ConditionValue,
} from '../../core/domain/column-condition.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { literal } from '../../core/domain/names.ts'
import {
  constantText,
  constantTruth,
  isNode,
  isNumber,
  nodesOf,
  type TreeNode,
  type TreeValue,
  textValue,
  treeNumber,
  truthNode,
} from '../ast/select-ast.ts'
import { metadataName, ownColumnName } from './search-options.ts'

/** The most nodes in a condition, because each costs one pass over all chunks in memory. */
const NODES_MAX = 100

const KINDS: Readonly<Record<string, ConditionColumn['kind']>> = {
  ...{ TINYINT: 'number', SMALLINT: 'number', INTEGER: 'number', BIGINT: 'number' },
  ...{ UTINYINT: 'number', USMALLINT: 'number', UINTEGER: 'number', DOUBLE: 'number' },
  ...{ BOOLEAN: 'truth', VARCHAR: 'word', DATE: 'day', TIMESTAMP: 'time' },
}

const CAST_KINDS: Readonly<Record<string, ConditionColumn['kind']>> = {
  ...{ VARCHAR: 'word', DATE: 'day', TIMESTAMP: 'time' },
}

/** null if it does more than compare metadata. @param condition over chunk columns alone */
export function memoryCondition(
  condition: TreeNode,
  alias: string,
  kb: KnowledgeBase,
): ColumnCondition | null {
  return new ConditionReader(alias, kb).read(condition)
}

class ConditionReader {
  readonly #alias: string
  readonly #columns: ReadonlyMap<string, ConditionColumn>
  #nodeCount = 0

  constructor(alias: string, { storedMetadata }: KnowledgeBase) {
    this.#alias = alias
    this.#columns = new Map(
      storedMetadata.flatMap((column) => {
        const kind = KINDS[column.type]
        const name = metadataName(column).toLowerCase()
        return kind === undefined ? [] : [[name, { name: column.column, kind }] as const]
      }),
    )
  }

  read(node: TreeNode | undefined): ColumnCondition | null {
    this.#nodeCount += 1
    if (node === undefined || this.#nodeCount > NODES_MAX) return null
    const children = nodesOf(node.children)
    const [first, second] = children
    switch (textValue(node.type)) {
      case 'CONJUNCTION_AND':
        return joined('and', this.#readAll(children))
      case 'CONJUNCTION_OR':
        return joined('or', this.#readAll(children))
      case 'OPERATOR_NOT':
        return negated(this.read(first))
      case 'OPERATOR_COALESCE': {
        const isCertain = children.length === 2 && constantTruth(second) === false
        return isCertain ? certain(this.read(first)) : null
      }
      case 'OPERATOR_IS_NULL':
        return this.#isNull(first)
      case 'OPERATOR_IS_NOT_NULL':
        return negated(this.#isNull(first))
      case 'COMPARE_IN':
        return this.#isOneOf(children)
      case 'COMPARE_NOT_IN':
        return negated(this.#isOneOf(children))
      case 'COMPARE_BETWEEN': {
        const below = this.#compared('<', node.input, node.lower)
        return joined('and', [negated(below), this.#compared('<=', node.input, node.upper)])
      }
      case 'FUNCTION':
        return textValue(node.function_name) === 'contains'
          ? this.#compared('in', second, first)
          : null
      case 'COLUMN_REF':
        return this.#columnOf(node)?.kind === 'truth' ? this.#compared('=', node, TRUE) : null
      default:
        return this.#comparison(node)
    }
  }

  #comparison({ type, left, right }: TreeNode): ColumnCondition | null {
    const isFlipped = this.#columnOf(left) === undefined
    const [column, value] = isFlipped ? [right, left] : [left, right]
    const written = textValue(type)
    switch (isFlipped ? (FLIPPED[written] ?? written) : written) {
      case 'COMPARE_EQUAL':
        return this.#compared('=', column, value)
      case 'COMPARE_NOTEQUAL':
        return negated(this.#compared('=', column, value))
      case 'COMPARE_DISTINCT_FROM':
        return negated(certain(this.#compared('=', column, value)))
      case 'COMPARE_NOT_DISTINCT_FROM':
        return certain(this.#compared('=', column, value))
      case 'COMPARE_LESSTHAN':
        return this.#compared('<', column, value)
      case 'COMPARE_LESSTHANOREQUALTO':
        return this.#compared('<=', column, value)
      case 'COMPARE_GREATERTHAN':
        return negated(this.#compared('<=', column, value))
      case 'COMPARE_GREATERTHANOREQUALTO':
        return negated(this.#compared('<', column, value))
      default:
        return null
    }
  }

  #readAll(nodes: readonly TreeNode[]): readonly (ColumnCondition | null)[] {
    return nodes.map((node) => this.read(node))
  }

  #isOneOf([column, ...values]: readonly TreeNode[]): ColumnCondition | null {
    this.#nodeCount += values.length
    if (this.#nodeCount > NODES_MAX) return null
    const parts = values.map((value) => this.#compared('=', column, value))
    return joined('or', parts)
  }

  #isNull(node: TreeNode | undefined): ColumnCondition | null {
    const column = this.#columnOf(node)
    return column === undefined ? null : { kind: 'null', column }
  }

  #compared(
    kind: '=' | '<' | '<=' | 'in',
    node: TreeValue | undefined,
    valueNode: TreeValue | undefined,
  ): ColumnCondition | null {
    const column = this.#columnOf(node)
    if (column === undefined || !isNode(valueNode)) return null
    const isOrdered = column.kind !== 'word' && column.kind !== 'truth'
    if ((kind === '<' || kind === '<=') && !isOrdered) return null
    const value = comparedValue(valueNode, column.kind)
    const isList = kind === 'in'
    return value === null || (isList && !('parameter' in value)) ? null : { kind, column, value }
  }

  #columnOf(node: TreeValue | undefined): ConditionColumn | undefined {
    if (!isNode(node)) return undefined
    const name = ownColumnName(node, { alias: this.#alias, isOnly: true })
    return name === undefined ? undefined : this.#columns.get(name)
  }
}

const FLIPPED: Readonly<Record<string, string>> = {
  COMPARE_LESSTHAN: 'COMPARE_GREATERTHAN',
  COMPARE_LESSTHANOREQUALTO: 'COMPARE_GREATERTHANOREQUALTO',
  COMPARE_GREATERTHAN: 'COMPARE_LESSTHAN',
  COMPARE_GREATERTHANOREQUALTO: 'COMPARE_LESSTHANOREQUALTO',
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

function certain(part: ColumnCondition | null): ColumnCondition | null {
  return part && { kind: 'certain', part }
}

const TRUE = truthNode(true)

/** Returns a text to compare with; null if it is not a plain value. */
export function wordOf(node: TreeNode): ConditionValue | null {
  return comparedValue(node, 'word')
}

function comparedValue(node: TreeNode, kind: ConditionColumn['kind']): ConditionValue | null {
  if (kind === 'truth') {
    const truth = constantTruth(node)
    if (truth !== undefined) return { written: String(truth) }
  }
  if (node.class === 'CAST') {
    const type = isNode(node.cast_type) ? textValue(node.cast_type.id) : ''
    const isSame = CAST_KINDS[type] === kind && isNode(node.child)
    return isSame ? (textOf(node.child) ?? parameterOf(node.child)) : null
  }
  if (kind === 'number') return numberOf(node) ?? parameterOf(node)
  // DuckDB would cast the date to text and compare it with the bound text, so a parameter cannot be
  // used.
  return textOf(node) ?? (kind === 'day' || kind === 'time' ? null : parameterOf(node))
}

function parameterOf(node: TreeValue | undefined): ConditionValue | null {
  if (!isNode(node) || node.class !== 'PARAMETER') return null
  return { parameter: textValue(node.identifier) }
}

function textOf(node: TreeValue | undefined): ConditionValue | null {
  const text = constantText(node)
  return text === undefined ? null : { written: literal(text) }
}

function numberOf({ class: kind, value: constant }: TreeNode): ConditionValue | null {
  if (kind !== 'CONSTANT' || !isNode(constant) || !isNode(constant.type)) return null
  const { value, type } = constant
  // Numbers with more digits than JavaScript represents exactly are left to the database.
  if (!isNumber(value) || !/^-?\d{1,15}$/.test(value.rawJSON)) return null
  if (type.id === 'INTEGER' || type.id === 'BIGINT') return { written: value.rawJSON }
  const scale =
    type.id === 'DECIMAL' && isNode(type.type_info) ? treeNumber(type.type_info.scale) : 0
  if (!(scale > 0)) return null
  const digits = value.rawJSON.replace('-', '').padStart(scale + 1, '0')
  const sign = value.rawJSON.startsWith('-') ? '-' : ''
  return { written: `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}` }
}
