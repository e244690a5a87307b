/**
 * The process that reads users' files into tables and documents. It has no access to the database
 * or to secrets, and if it crashes, only one request fails.
 */
import { answerJob } from '../../reading/processes/read-file.ts'
import { answerJobs } from '../reader-jobs.ts'

answerJobs(answerJob)
