/** Why the store cannot be opened, written for whoever starts the program. */
export class StartError extends Error {
  readonly isStartError = true

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StartError'
  }
}

/** @returns the `code` of a failed call of the operating system: `EACCES`, `ENOSPC` */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
