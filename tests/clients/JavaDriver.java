// Runs one job with Apache Kafka's Java client; each line of its answer starts with "> ".

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class JavaDriver {
    static final long FIRST_TIMESTAMP = 1_700_000_000_000L;
    static final Duration WAIT = Duration.ofMillis(500);

    public static void main(String[] arguments) throws Exception {
        String address = arguments[1];
        String topic = arguments[2];
        int partitions = Integer.parseInt(arguments[3]);
        int count = Integer.parseInt(arguments[4]);
        switch (arguments[0]) {
            case "lossy" -> write(address, topic, partitions, count, Map.of(
                "max.in.flight.requests.per.connection", "5", "batch.size", "300", "linger.ms", "1",
                "retry.backoff.ms", "20", "reconnect.backoff.ms", "20", "reconnect.backoff.max.ms", "50"));
            case "codecs" -> {
                for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
                    String named = topic + "-" + codec;
                    create(address, named, partitions);
                    write(address, named, partitions, count, Map.of("compression.type", codec));
                    read(address, named, partitions, count);
                }
            }
            case "ids" -> describeById(address, topic);
            case "refusals" -> {
                create(address, topic, partitions);
                tell(() -> join(address, topic, "classic"));
                tell(() -> join(address, topic, "consumer"));
                tell(() -> transact(address));
            }
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static Map<String, Object> settings(String address, Map<String, String> more) {
        Map<String, Object> all = new java.util.HashMap<>(more);
        all.put("bootstrap.servers", address);
        return all;
    }

    static KafkaProducer<String, String> producer(String address, Map<String, String> more) {
        return new KafkaProducer<>(settings(address, more), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String address, Map<String, String> more) {
        return new KafkaConsumer<>(settings(address, more), new StringDeserializer(), new StringDeserializer());
    }

    static Uuid create(String address, String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(settings(address, Map.of()))) {
            return admin.createTopics(List.of(new NewTopic(topic, partitions, (short) -1))).topicId(topic).get();
        }
    }

    static void write(String address, String topic, int partitions, int count, Map<String, String> more)
            throws Exception {
        try (KafkaProducer<String, String> producer = producer(address, more)) {
            List<Future<RecordMetadata>> answers = new ArrayList<>();
            for (int number = 0; number < count; number++) {
                answers.add(producer.send(new ProducerRecord<>(
                    topic, number % partitions, FIRST_TIMESTAMP + number, "" + number, "record " + number)));
            }
            for (Future<RecordMetadata> answer : answers) answer.get();
        }
    }

    static void read(String address, String topic, int partitions, int count) {
        List<TopicPartition> places =
            IntStream.range(0, partitions).mapToObj(index -> new TopicPartition(topic, index)).toList();
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<String, String> consumer = consumer(address, Map.of())) {
            consumer.assign(places);
            consumer.seekToBeginning(places);
            for (int got = 0; got < count; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(WAIT)) {
                    out.append(String.join("\t", "> " + topic, "" + record.partition(), "" + record.offset(),
                        record.key(), record.value(), "" + record.timestamp())).append("\n");
                    got++;
                }
            }
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8), 0, out.length());
        System.out.flush();
    }

    static void describeById(String address, String topic) throws Exception {
        Uuid id = create(address, topic, 1);
        try (Admin admin = Admin.create(settings(address, Map.of()))) {
            TopicCollection ids = TopicCollection.ofTopicIds(List.of(id));
            System.out.println("> " + admin.describeTopics(ids).allTopicIds().get().get(id).name());
            admin.deleteTopics(ids).all().get();
            tell(() -> admin.describeTopics(ids).allTopicIds().get());
        }
    }

    static Object join(String address, String topic, String protocol) {
        try (KafkaConsumer<String, String> consumer =
                consumer(address, Map.of("group.id", "some", "group.protocol", protocol))) {
            consumer.subscribe(List.of(topic));
            while (true) consumer.poll(WAIT);
        }
    }

    static Object transact(String address) {
        try (KafkaProducer<String, String> producer = producer(address, Map.of("transactional.id", "some"))) {
            producer.initTransactions();
            return "began";
        }
    }

    static void tell(Callable<Object> attempt) {
        try {
            System.out.println("> " + attempt.call());
        } catch (Exception error) {
            Throwable cause = error instanceof java.util.concurrent.ExecutionException ? error.getCause() : error;
            System.out.println("> " + cause.getClass().getSimpleName());
        }
    }
}
