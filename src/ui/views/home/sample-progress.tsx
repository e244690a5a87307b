/** The sample while it is loaded, and where to go when it is there. */
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { Progress } from '../../components/progress.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { endSample, loadSample, SAMPLE, sampleLoading } from './load-sample.ts'

export function SampleProgress() {
  const loading = sampleLoading.value
  if (loading === undefined) return null
  return (
    <section class="panel stack" aria-label="The sample">
      <h2>The sample</h2>
      {loading.step === 'preparing' && <Progress label="Making the knowledge base and its agent" />}
      {loading.step === 'storing' && (
        <JobProgress id={loading.job.id} job={loading.job} onOver={endSample} />
      )}
      {loading.step === 'failed' && <Failure error={loading.failure} onRetry={loadSample} />}
      {loading.step === 'done' && <WhereToGo />}
    </section>
  )
}

function WhereToGo() {
  const { project, knowledgeBase, agent, questions } = SAMPLE
  const search = `${addressOf.searchLab(project, knowledgeBase)}?${new URLSearchParams({ q: QUESTION })}`
  return (
    <div class="stack" role="status">
      <p>
        240 paragraphs of Wikipedia are in <code>{knowledgeBase}</code>, the agent{' '}
        <code>{agent}</code> answers from them, and 96 questions with their right paragraphs are in
        the file <code>{questions}</code>.
      </p>
      <div class="row">
        <a class="button primary" href={search}>
          <Icon name="search" />
          Search it
        </a>
        <a class="button" href={addressOf.map(project, knowledgeBase)}>
          <Icon name="map" />
          See its map
        </a>
        <a class="button" href={addressOf.agent(project, agent)}>
          <Icon name="agent" />
          Ask the agent
        </a>
        <Button
          look="quiet"
          label="Close"
          onClick={() => {
            sampleLoading.value = undefined
          }}
        />
      </div>
      <p class="small quiet">
        From{' '}
        <a href="https://github.com/google-deepmind/xquad" target="_blank" rel="noreferrer">
          XQuAD
        </a>{' '}
        and the authors of Wikipedia,{' '}
        <a href="https://creativecommons.org/licenses/by-sa/4.0/" target="_blank" rel="noreferrer">
          CC BY-SA 4.0
        </a>
      </p>
    </div>
  )
}

const QUESTION = 'Why does the rainforest matter for the climate?'
