/** What the catalog's tables are made of. */
import { bigint, customType, pgSchema, timestamp } from 'drizzle-orm/pg-core'

export const eider = pgSchema('eider')

/**
 * JSON text in the database, a value outside. Only this program writes it, so it is trusted.
 */
export const json = <T>(name: string) =>
  customType<{ data: T; driverData: string }>({
    dataType: () => 'JSON',
    toDriver: (value) => JSON.stringify(value),
    // The catalog's JSON is only ever written by `toDriver`, so that it has the column's type.
    fromDriver: (value) => JSON.parse(value) as T,
  })(name)

/** Microseconds, UTC, as `YYYY-MM-DD HH:MM:SS.ffffff`. */
export const moment = (name: string) => timestamp(name, { precision: 6, mode: 'string' }).notNull()

export const count = (name: string) => bigint(name, { mode: 'number' }).notNull()
