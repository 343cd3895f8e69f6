import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSInotifyEventInputStream;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.inotify.EventBatch;

/** The least that Java can do with the stream of events: count them. Arguments: URI of HDFS, transaction after which to begin, last transaction. */
public class InotifyLoop {
  public static void main(String[] arguments) throws Exception {
    HdfsAdmin admin = new HdfsAdmin(URI.create(arguments[0]), new Configuration());
    DFSInotifyEventInputStream stream = admin.getInotifyEventStream(Long.parseLong(arguments[1]));
    long last = Long.parseLong(arguments[2]);
    long events = 0;
    long txid = -1;
    long began = System.nanoTime();
    while (txid < last) {
      EventBatch batch = stream.poll();
      if (batch != null) {
        txid = batch.getTxid();
        events += batch.getEvents().length;
      }
    }
    System.out.println(events + " " + (System.nanoTime() - began) / 1e9);
    System.exit(0);
  }
}
