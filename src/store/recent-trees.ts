const TREES_MAX = 100
const SQL_CHARS_MAX = 4_000

/** Syntax trees of texts that were parsed lately: the sub-queries that stand for knowledge bases come again and again. */
export class RecentTrees {
  readonly #trees = new Map<string, string>()

  get(sql: string): string | undefined {
    const tree = this.#trees.get(sql)
    if (tree === undefined) return undefined
    this.#trees.delete(sql)
    this.#trees.set(sql, tree)
    return tree
  }

  set(sql: string, tree: string): void {
    if (sql.length > SQL_CHARS_MAX) return
    this.#trees.set(sql, tree)
    const [oldest] = this.#trees.keys()
    if (this.#trees.size > TREES_MAX && oldest !== undefined) this.#trees.delete(oldest)
  }
}
