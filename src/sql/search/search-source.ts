/** One knowledge base of a FROM, as its SELECT sees it. */
export interface SearchSource {
  readonly alias: string
  /** True when a column without a qualifier belongs to this source. */
  readonly isOnly: boolean
}
