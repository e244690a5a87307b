import { setDefaultTimeout } from 'bun:test'

/** The same limit as in scripts/test.mjs, because a busy machine takes ten times as long. */
setDefaultTimeout(120_000)
