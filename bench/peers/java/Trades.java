import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The trades of a CSV file, and what all drivers share: arguments, repetitions, the answer. */
public final class Trades {
    /** One trade. Flink wants a public class with public fields and a constructor without arguments. */
    public static class Trade {
        public long position;
        public String type;
        public String name;
        public double price;
        public int account;
        public long time;
    }

    /** Counts the matches of a workload. */
    public interface Engine {
        long count(Trade[] trades, String workload, long window) throws Exception;
    }

    /** A workload that the engine has no words for. */
    public static class CannotSay extends RuntimeException {
        public CannotSay(String why) {
            super(why);
        }
    }

    public static Trade[] read(String file) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(file));
        Trade[] trades = new Trade[lines.size() - 1];
        for (int i = 1; i < lines.size(); i++) {
            String[] values = lines.get(i).replace("\"", "").split(",");
            Trade trade = new Trade();
            trade.position = Long.parseLong(values[0]);
            trade.type = values[1];
            trade.name = values[2];
            trade.price = Double.parseDouble(values[3]);
            trade.account = Integer.parseInt(values[4]);
            trade.time = Long.parseLong(values[5]);
            trades[i - 1] = trade;
        }
        return trades;
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
    }

    /** Run a workload up to three times, as long as that takes less than ten seconds; print the best. */
    public static void main(String[] arguments, Engine engine) throws Exception {
        Trade[] trades = read(arguments[0]);
        long window = Long.parseLong(arguments[2]);
        double bestCpu = Double.MAX_VALUE, bestWall = Double.MAX_VALUE, spent = 0;
        long count = 0;
        try {
            for (int i = 0; i < 3 && spent < 10; i++) {
                long wall = System.nanoTime(), cpu = cpu();
                count = engine.count(trades, arguments[1], window);
                double usedCpu = (cpu() - cpu) / 1e9, usedWall = (System.nanoTime() - wall) / 1e9;
                spent += usedCpu;
                bestCpu = Math.min(bestCpu, usedCpu);
                bestWall = Math.min(bestWall, usedWall);
            }
        } catch (CannotSay reason) {
            System.out.println("{\"cannot\": \"" + reason.getMessage() + "\"}");
            System.exit(0);
        }
        System.out.println("{\"count\": " + count + ", \"cpu\": " + bestCpu + ", \"wall\": " + bestWall + "}");
        System.exit(0);
    }

    private Trades() {
    }
}
