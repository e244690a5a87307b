import { fuzzSuite } from '../../sql/fuzz-suite.ts'

fuzzSuite(3000)
