/** A copy of everything that is stored, as of one moment. */
export interface Backup {
  /** Of its folder within the folder of backups; made of the time, so that names sort by age. */
  readonly name: string
  readonly sizeBytes: number
  /** The moment as of which everything was copied. */
  readonly createdAt: string
  /** False where secrets cannot be read after a restore, as the key files were left out. */
  readonly hasKeys: boolean
  /** Rows that were copied. */
  readonly rowCount: number
}

/** What `/api/status` says about backups. */
export interface BackupState {
  /** The newest one that there is. */
  readonly last: Backup | null
  /** When the schedule makes the next one. */
  readonly next: string | null
  /** The last attempt, where it failed. */
  readonly failed: { readonly at: string; readonly message: string } | null
}
