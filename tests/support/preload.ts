import { setDefaultTimeout } from 'bun:test'

/** As in scripts/test.mjs: a busy machine takes ten times as long. */
setDefaultTimeout(120_000)
