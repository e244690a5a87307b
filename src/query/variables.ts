import type { BoundValue } from '../domain/ports.ts'
import { AppError } from '../errors.ts'

const VARIABLES_MAX = 1000
const VARIABLE_BYTES_MAX = 1_000_000

/** What `SET @name = …` keeps: for all requests, until the process ends. Names are in lower case. */
export class Variables {
  readonly #values = new Map<string, BoundValue>()

  get(name: string): BoundValue | undefined {
    return this.#values.get(name)
  }

  /** Sets all or none. @throws AppError `sql_not_supported` for too many, or one that is too large */
  set(values: ReadonlyMap<string, BoundValue>): void {
    const names = new Set([...this.#values.keys(), ...values.keys()])
    if (names.size > VARIABLES_MAX) {
      throw new AppError('sql_not_supported', `There are at most ${VARIABLES_MAX} variables`)
    }
    for (const [name, value] of values) {
      const size = Buffer.byteLength(JSON.stringify(value))
      if (size <= VARIABLE_BYTES_MAX) continue
      const message = `A variable holds at most ${VARIABLE_BYTES_MAX} bytes; @${name} has ${size}`
      throw new AppError('sql_not_supported', message)
    }
    for (const [name, value] of values) this.#values.set(name, value)
  }
}
