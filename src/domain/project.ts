export interface Project {
  readonly id: number
  readonly name: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** The project that every data folder has and that cannot be deleted. Existing clients name it. */
export const DEFAULT_PROJECT = 'mindsdb'
