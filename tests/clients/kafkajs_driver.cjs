// Runs one job with KafkaJS: a JSON object on standard input, the answer as JSON on standard output.
// Bytes are base64. An error that KafkaJS raises is an answer, too: its name, Kafka's code where it has one, its text.

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')

const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP }

// Not part of KafkaJS: used where they are installed beside it.
const others = {
  snappy: [CompressionTypes.Snappy, () => require('kafkajs-snappy')],
  lz4: [CompressionTypes.LZ4, () => new (require('kafkajs-lz4').default)().codec],
  zstd: [CompressionTypes.ZSTD, () => require('@kafkajs/zstd')()],
}
for (const [name, [type, load]] of Object.entries(others)) {
  try {
    CompressionCodecs[type] = load()
    codecs[name] = type
  } catch {
    // Not there, or without the binary that it needs; `codecs` tells which there are.
  }
}

const bytes = (text) => (text === null ? null : Buffer.from(text, 'base64'))

function message({ partition, key, value, timestamp, headers }) {
  return {
    partition,
    key: bytes(key),
    value: bytes(value),
    timestamp: timestamp === null ? undefined : String(timestamp),
    headers: Object.fromEntries(headers.map(([name, values]) => [name, values.map(bytes)])),
  }
}

async function withAdmin(kafka, work) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

const jobs = {
  codecs: async () => Object.keys(codecs),

  create: (kafka, { topic, partitions, configs }) =>
    withAdmin(kafka, (admin) =>
      admin.createTopics({
        topics: [
          {
            topic,
            numPartitions: partitions,
            configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
          },
        ],
      }),
    ),

  grow: (kafka, { topic, partitions }) =>
    withAdmin(kafka, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] })),

  remove: (kafka, { topic }) => withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] })),

  topics: (kafka) =>
    withAdmin(kafka, async (admin) => {
      const { topics } = await admin.fetchTopicMetadata()
      return Object.fromEntries(topics.map(({ name, partitions }) => [name, partitions.length]))
    }),

  offsets: (kafka, { topic, timestamp }) =>
    withAdmin(kafka, (admin) =>
      timestamp === null ? admin.fetchTopicOffsets(topic) : admin.fetchTopicOffsetsByTimestamp(topic, timestamp),
    ),

  async write(kafka, { topic, records, codec, idempotent, chunk }) {
    const producer = kafka.producer({ idempotent })
    await producer.connect()
    try {
      for (let first = 0; first < records.length; first += chunk) {
        const messages = records.slice(first, first + chunk).map(message)
        await producer.send({ topic, messages, acks: -1, compression: codecs[codec] })
      }
    } finally {
      await producer.disconnect()
    }
  },

  async transact(kafka) {
    const producer = kafka.producer({ transactionalId: 'some', maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    try {
      await producer.transaction()
    } finally {
      await producer.disconnect()
    }
  },

  async join(kafka, { topic }) {
    const consumer = kafka.consumer({ groupId: 'some' })
    const crashed = new Promise((resolve) => consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload)))
    await consumer.connect()
    await consumer.subscribe({ topics: [topic] })
    await consumer.run({ eachMessage: async () => {} })
    const { error, restart } = await crashed
    await consumer.disconnect()
    if (restart) throw new Error(`it would go on after ${error}`)
    throw error
  },
}

async function main() {
  const input = []
  for await (const piece of process.stdin) input.push(piece)
  const job = JSON.parse(Buffer.concat(input).toString())
  const kafka = new Kafka({ clientId: 'test', brokers: [job.address], logLevel: logLevel.NOTHING, ...job.settings })
  try {
    return { answer: (await jobs[job.name](kafka, job)) ?? null }
  } catch (error) {
    const cause = error.cause ?? error
    return { error: { name: cause.name, code: cause.code ?? null, text: `${cause.message} ${cause.apiName ?? ''}` } }
  }
}

main().then((answer) => process.stdout.write(JSON.stringify(answer)))
