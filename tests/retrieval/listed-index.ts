import { IvfIndex, type ListOptions } from '../../src/retrieval/ivf/ivf-index.ts'
import { ExactIndex, type VectorSearch } from '../../src/retrieval/vectors/exact-index.ts'

/** An exact index and its inverted lists as one object. */
export class ListedIndex extends ExactIndex {
  readonly #lists = new IvfIndex(this)

  override get bytes(): number {
    return super.bytes + this.#lists.bytes
  }

  get listsReport() {
    return this.#lists.report
  }

  get needsTraining(): boolean {
    return this.#lists.needsTraining
  }

  get waitingCount(): number {
    return this.#lists.waitingCount
  }

  /** Lists are only used in searches among all vectors. */
  override async search(
    { effort, ...search }: VectorSearch & { readonly effort?: 'exact' | 'lists' },
    signal: AbortSignal,
  ) {
    const isForLists = effort === 'lists' && search.allowedKeys === undefined
    return isForLists ? this.#lists.search(search, signal) : super.search(search, signal)
  }

  trainLists(options: ListOptions, signal: AbortSignal) {
    return this.#lists.train(options, signal)
  }

  dropLists(): void {
    this.#lists.drop()
  }

  listsSettled(): Promise<void> {
    return this.#lists.settled()
  }
}
