/** What a process does with one file, whatever its engine. Within the process: it may be busy for as long as it likes. */
import type {
  DescribedSourceTable,
  SourceColumn,
  SourceTableName,
} from '../../core/domain/flow/source-parameters.ts'
import type { SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type { ResultColumn, ResultValue } from '../../core/domain/query-result.ts'
import type { StagedAnswer } from './file-messages.ts'

export interface OpenedFile {
  /** Reads a little of it. */
  check(): Promise<void>
  tables(): Promise<readonly DescribedSourceTable[]>
  /** None: there is no such table. */
  columns(table: SourceTableName): Promise<readonly SourceColumn[]>
  describe(sql: string): Promise<readonly SourceColumn[]>
  read(select: SourceSelect): Promise<FileRows>
  /** Writes the rows into the folder of the job. */
  stage(select: SourceSelect): Promise<StagedAnswer>
  close(): void
}

export interface FileRows {
  readonly columns: readonly ResultColumn[]
  /** null: there are no more. */
  next(): Promise<readonly (readonly ResultValue[])[] | null>
}

export const COLUMNS_MAX = 2000
