import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** Patterns of FlinkCEP on one task. Windows exclude their end, so they are a millisecond longer. */
public final class FlinkPeer {
    private static Trades.Trade[] all;
    private static final AtomicLong FOUND = new AtomicLong();
    private static final Set<Integer> ACCOUNTS = ConcurrentHashMap.newKeySet();

    private static SimpleCondition<Trades.Trade> is(String type, String name) {
        return SimpleCondition.of(trade -> trade.type.equals(type) && (name == null || trade.name.equals(name)));
    }

    /** A trade of a type at a higher price than that of an earlier one of the match. */
    private static final class Dearer extends IterativeCondition<Trades.Trade> {
        private final String type;
        private final String than;

        Dearer(String type, String than) {
            this.type = type;
            this.than = than;
        }

        @Override
        public boolean filter(Trades.Trade trade, Context<Trades.Trade> context) throws Exception {
            return trade.type.equals(type)
                && trade.price > context.getEventsForPattern(than).iterator().next().price;
        }
    }

    /** Counts matches; of an absence those whose deadline the stream has passed. */
    private static final class Count extends PatternProcessFunction<Trades.Trade, Long> {
        private final long decidedBefore;

        Count(long decidedBefore) {
            this.decidedBefore = decidedBefore;
        }

        @Override
        public void processMatch(Map<String, List<Trades.Trade>> match, Context context, Collector<Long> out) {
            Trades.Trade first = match.get("a").get(0);
            if (first.time < decidedBefore) {
                FOUND.incrementAndGet();
                ACCOUNTS.add(first.account);
            }
        }
    }

    private static Pattern<Trades.Trade, ?> pattern(String workload) {
        Pattern<Trades.Trade, Trades.Trade> start = Pattern.begin("a", AfterMatchSkipStrategy.noSkip());
        switch (workload) {
            case "sequence":
                return start.where(is("SELL", "INTC")).followedByAny("b").where(is("BUY", "RIMM"))
                    .followedByAny("c").where(is("BUY", "QQQ"));
            case "first":
                return start.where(is("SELL", "INTC")).followedBy("b").where(is("BUY", "RIMM"))
                    .followedBy("c").where(is("BUY", "QQQ"));
            case "keyed":
                return start.where(is("SELL", null)).followedByAny("b").where(is("BUY", null))
                    .followedByAny("c").where(is("SELL", null));
            case "rising":
                return start.where(is("SELL", null)).followedByAny("b").where(new Dearer("BUY", "a"))
                    .followedByAny("c").where(new Dearer("SELL", "b"));
            case "kleene":
                return start.where(is("SELL", null)).followedByAny("b").where(is("BUY", null)).oneOrMore()
                    .allowCombinations().followedByAny("c").where(is("SELL", null));
            case "absence":
                return start.where(is("SELL", null)).notFollowedBy("b").where(is("BUY", null));
            default:
                return start.where(is("SELL", null)).followedBy("b").where(is("BUY", null))
                    .followedBy("c").where(is("SELL", null));
        }
    }

    private static long count(Trades.Trade[] trades, String workload, long window) throws Exception {
        all = trades;
        FOUND.set(0);
        ACCOUNTS.clear();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        environment.getConfig().enableObjectReuse();
        SingleOutputStreamOperator<Trades.Trade> events = environment.fromSequence(0, trades.length - 1)
            .map(position -> all[position.intValue()]).returns(Trades.Trade.class)
            .assignTimestampsAndWatermarks(WatermarkStrategy.<Trades.Trade>forMonotonousTimestamps()
                .withTimestampAssigner((trade, before) -> trade.time));
        boolean whole = workload.equals("sequence") || workload.equals("first");
        DataStream<Trades.Trade> parts = whole ? events
            : workload.equals("funnel") ? events.keyBy(trade -> trade.account) : events.keyBy(trade -> trade.name);
        long end = workload.equals("absence") ? trades[trades.length - 1].time - window : Long.MAX_VALUE;
        DataStreamSink<Long> sink = CEP.pattern(parts, pattern(workload).within(Duration.ofMillis(window + 1)))
            .process(new Count(end), TypeInformation.of(Long.class)).sinkTo(new DiscardingSink<>());
        environment.execute();
        return workload.equals("funnel") ? ACCOUNTS.size() : FOUND.get();
    }

    public static void main(String[] arguments) throws Exception {
        Trades.main(arguments, FlinkPeer::count);
    }
}
