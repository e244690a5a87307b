import { AppError } from '../../core/errors.ts'

/** The options after USING with the name before it. @throws AppError `invalid_request` where they name another */
export function withStatementName(
  options: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  if (options.name === undefined || options.name === null) return { ...options, name }
  throw new AppError('invalid_request', 'The name comes before USING; leave out the option "name"')
}
