import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.util.HashSet;
import java.util.Set;

/** Patterns of Siddhi, with the time of the events (playback). */
public final class SiddhiPeer {
    private static String query(String workload, long window) {
        String within = " within " + window + " milliseconds";
        String out = " select e1.account as account insert into Found;";
        switch (workload) {
            case "first":
                return "from every e1=T[type=='SELL' and name=='INTC'] -> e2=T[type=='BUY' and name=='RIMM']"
                    + " -> e3=T[type=='BUY' and name=='QQQ']" + within + out;
            case "absence":
                return "partition with (name of T) begin from every e1=T[type=='SELL'] -> not T[type=='BUY'] for "
                    + window + " milliseconds" + out + " end;";
            case "funnel":
                return "partition with (account of T) begin from every e1=T[type=='SELL'] -> e2=T[type=='BUY']"
                    + " -> e3=T[type=='SELL']" + within + out + " end;";
            default:
                throw new Trades.CannotSay("a state goes on with one event only: no pattern lists every choice");
        }
    }

    private static long count(Trades.Trade[] trades, String workload, long window) throws Exception {
        SiddhiManager manager = new SiddhiManager();
        SiddhiAppRuntime runtime = manager.createSiddhiAppRuntime(
            "@app:playback define stream T (type string, name string, price double, account int);"
                + "define stream Found (account int);" + query(workload, window));
        long[] found = {0};
        Set<Object> accounts = new HashSet<>();
        runtime.addCallback("Found", new StreamCallback() {
            @Override
            public void receive(Event[] events) {
                found[0] += events.length;
                for (Event event : events) {
                    accounts.add(event.getData(0));
                }
            }
        });
        InputHandler input = runtime.getInputHandler("T");
        runtime.start();
        for (Trades.Trade trade : trades) {
            input.send(trade.time, new Object[] {trade.type, trade.name, trade.price, trade.account});
        }
        runtime.shutdown();
        manager.shutdown();
        return workload.equals("funnel") ? accounts.size() : found[0];
    }

    public static void main(String[] arguments) throws Exception {
        Trades.main(arguments, SiddhiPeer::count);
    }
}
