import { AppError } from '../../errors.ts'
import type { StatementReader } from './statement-reader.ts'

export type ProjectStatement =
  | { readonly kind: 'create_project'; readonly name: string; readonly ifNotExists: boolean }
  | { readonly kind: 'drop_project'; readonly name: string; readonly ifExists: boolean }

export function projectStatement(read: StatementReader): ProjectStatement | undefined {
  if (read.takeWords('create', 'project') || read.takeWords('create', 'database')) {
    return createProject(read)
  }
  if (read.takeWords('drop', 'project') || read.takeWords('drop', 'database')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_project', ifExists, name: read.name('the name of a project') }
  }
  return undefined
}

/** Existing clients make a project as `CREATE DATABASE p ENGINE = 'mindsdb'`. */
function createProject(read: StatementReader): ProjectStatement {
  const ifNotExists = read.takeWords('if', 'not', 'exists')
  const name = read.name('the name of a project')
  read.takeWords('with')
  if (read.takeWords('engine')) {
    read.takeSymbol('=')
    const engine = read.string()
    if (engine.toLowerCase() !== PROJECT_ENGINE) {
      const message = `Databases of the engine "${engine}" are not supported; there are projects`
      throw new AppError('sql_not_supported', message)
    }
  }
  return { kind: 'create_project', name, ifNotExists }
}

const PROJECT_ENGINE = 'mindsdb'
