import { fuzzSuite } from '../../sql/fuzz-suite.ts'
import { isEverything } from '../../support/sample.ts'

fuzzSuite(isEverything ? 3000 : 750)
