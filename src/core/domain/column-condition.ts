/**
 * A column whose values can be compared as numbers in memory: numbers as they are, texts by their
 * hash.
 */
export interface ConditionColumn {
  readonly name: string
  readonly kind: 'number' | 'truth' | 'word' | 'day' | 'time' | 'hash'
}

/** A literal in the statement, or the name of a bound parameter. */
export type ConditionValue = { readonly written: string } | { readonly parameter: string }

/** SQL's three truth values; `certain` turns unknown into false. `in` takes a list. */
export type ColumnCondition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly ColumnCondition[] }
  | { readonly kind: 'not' | 'certain'; readonly part: ColumnCondition }
  | { readonly kind: 'null'; readonly column: ConditionColumn }
  | {
      readonly kind: '=' | '<' | '<=' | 'in'
      readonly column: ConditionColumn
      readonly value: ConditionValue
    }

export function columnsOf(condition: ColumnCondition): readonly ConditionColumn[] {
  if ('parts' in condition) return condition.parts.flatMap(columnsOf)
  return 'part' in condition ? columnsOf(condition.part) : [condition.column]
}

/** Returns undefined if nothing is bound to that name. */
export function conditionValue<Bound>(
  value: ConditionValue,
  bound: Readonly<Record<string, Bound>>,
): Bound | string | number | boolean | undefined {
  if ('parameter' in value) return bound[value.parameter]
  const { written } = value
  if (written.startsWith("'")) return written.slice(1, -1).replaceAll("''", "'")
  return written === 'true' || written === 'false' ? written === 'true' : Number(written)
}
