/** Which conditions of a SELECT rows of one reference in its FROM must meet, seen from where it stands among the joins. */
import { isNode, nodesOf, type TreeNode, type TreeValue } from '../ast/select-ast.ts'

/**
 * The conjuncts that a row of this reference must meet to be of any use, as far as they speak of it; null where a row that
 * does not meet them may still change the answer.
 * @param others what the rows of the SELECT must meet besides its WHERE
 */
export function conditionsOn(
  select: TreeNode,
  ref: TreeNode,
  others: readonly TreeNode[] = [],
): readonly TreeNode[] | null {
  const known = [...conjunctsOf(select.where_clause), ...others]
  return conditionsWithin(select.from_table, ref, known)
}

/** @param known conditions that everything in this source must meet */
function conditionsWithin(
  source: TreeValue | undefined,
  ref: TreeNode,
  known: readonly TreeNode[],
): readonly TreeNode[] | null {
  if (!isNode(source)) return null
  if (source === ref) return known
  if (source.type !== 'JOIN') return null
  const { left, right } = sides(source, known)
  const onLeft = left === null ? null : conditionsWithin(source.left, ref, left)
  if (onLeft !== null) return onLeft
  return right === null ? null : conditionsWithin(source.right, ref, right)
}

interface Sides {
  /** null: not even the rows that meet nothing may be left out. */
  readonly left: readonly TreeNode[] | null
  readonly right: readonly TreeNode[] | null
}

/**
 * A side whose rows come back as NULLs where nothing matches is not narrowed by conditions outside the join: `IS NULL` may be
 * what is asked for.
 */
function sides(join: TreeNode, known: readonly TreeNode[]): Sides {
  const own = conjunctsOf(join.condition)
  if (join.ref_type === 'POSITIONAL') return { left: null, right: null }
  if (join.ref_type === 'ASOF') {
    // Which row is the nearest depends on all of them.
    return {
      left: join.join_type === 'INNER' || join.join_type === 'LEFT' ? known : null,
      right: null,
    }
  }
  switch (join.join_type) {
    case 'INNER':
      return { left: [...known, ...own], right: [...known, ...own] }
    case 'SEMI':
      // Conditions outside cannot see the right side: the same name there is another column.
      return { left: [...known, ...own], right: own }
    case 'LEFT':
    case 'ANTI':
      return { left: known, right: own }
    case 'RIGHT':
      return { left: own, right: known }
    default:
      return { left: null, right: null }
  }
}

function conjunctsOf(condition: TreeValue | undefined): readonly TreeNode[] {
  if (!isNode(condition)) return []
  if (condition.type !== 'CONJUNCTION_AND') return [condition]
  return nodesOf(condition.children).flatMap(conjunctsOf)
}
