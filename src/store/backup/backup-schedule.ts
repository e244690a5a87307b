import { Cron } from 'croner'
import type { BackupState } from '../../core/domain/server-state.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { StoredBackups } from './backups.ts'

export interface ScheduleOptions {
  /** A cron expression, in the time zone of the machine; undefined: nobody makes a backup by itself. */
  readonly pattern: string | undefined
  /** Told of a backup of the schedule that failed. */
  readonly onFailure: (error: unknown) => void
}

/** Makes backups by themselves. */
export class BackupSchedule {
  readonly #backups: StoredBackups
  readonly #options: ScheduleOptions
  #cron: Cron | null = null

  constructor(backups: StoredBackups, options: ScheduleOptions) {
    this.#backups = backups
    this.#options = options
  }

  start(): void {
    const { pattern, onFailure } = this.#options
    if (pattern === undefined) return
    // A run is left out while the one before goes on. The process need not stay for it.
    this.#cron = new Cron(pattern, { protect: true, unref: true, catch: onFailure }, async () => {
      await this.#backups.create()
    })
  }

  state(): BackupState {
    const nextMs = this.#cron?.nextRun()?.getTime()
    return {
      ...this.#backups.state(),
      next: nextMs === undefined ? null : timestampOfMillis(nextMs),
    }
  }

  /** Ends the schedule; a backup that is being made goes on. */
  close(): void {
    this.#cron?.stop()
  }
}
