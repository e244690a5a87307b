import {
  type KnowledgeBaseAddress,
  KnowledgeBaseFrame,
} from '../knowledge-base/knowledge-base-frame.tsx'

export function MapView({ project, name }: KnowledgeBaseAddress) {
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <p>MapView</p>
    </KnowledgeBaseFrame>
  )
}
