/**
 * The process that reads users' SQLite and DuckDB files, without access to the server's database or
 * to secrets.
 */
import { replyTo } from '../../sources/files/file-answers.ts'
import { answerJobs } from '../reader-jobs.ts'

answerJobs(replyTo)
