/** The names that were noted last. */
export class RecentNames {
  readonly #names = new Set<string>()
  readonly #countMax: number

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  add(name: string): void {
    this.#names.add(name)
    const [oldest] = this.#names
    if (this.#names.size > this.#countMax && oldest !== undefined) this.#names.delete(oldest)
  }

  delete(name: string): void {
    this.#names.delete(name)
  }
}
